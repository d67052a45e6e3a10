"""The author's server below a prefix of a FastAPI application, which starts it."""

from fastapi import FastAPI

from journeys.server import server

tools = server.http_app()
app = FastAPI(lifespan=tools.lifespan)
app.mount("/tools", tools)
