from tooltrue import Server

server = Server("library", version="1.0")
books = {"978-0": "The tea road", "978-1": "Bread at home", "978-2": "A history of tea"}


@server.tool
def find_books(words: str) -> dict[str, str]:
    """Find books by words of their titles."""
    return {number: title for number, title in books.items() if words.lower() in title.lower()}


if __name__ == "__main__":
    server.run()
