import asyncio

from tooltrue import Client


async def main() -> None:
    async with Client("examples/notes.py", elicit=lambda question: print(question.message) or True) as client:
        print([tool.name for tool in await client.list_tools()])
        await client.call_tool("set_note", key="shopping", text="milk, bread")
        result = await client.call_tool("get_notes")
        print(result.value)


asyncio.run(main())
