"""The playground as a web application: requests in, answers and event streams out."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from textsobol.serve.limits import Limits
from textsobol.serve.messages import (
    AskContrast,
    AskCorpus,
    AskCorpusText,
    Asked,
    AskExplain,
    AskPredict,
    AskSave,
    describe_invalid,
)
from textsobol.serve.page import make_page
from textsobol.serve.playground import OFFERED, Playground
from textsobol.serve.security import Guard, Rules
from textsobol.serve.work import BusyError, Job, Worker

if TYPE_CHECKING:
    from textsobol.text.explainer import TextExplainer

A = TypeVar("A", bound=Asked)
_MOST_UNREAD = 32  # events that wait for a slow reader
_HEARTBEAT = 10.0  # seconds


class RefusedError(Exception):
    """A request that is answered with an error.

    Attributes:
        status: of the response.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Channel:
    """Events from the worker's thread to the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: deque[tuple[str, Any]] = deque()
        self._has_events = asyncio.Event()

    def send(self, event: str, data: Any) -> None:
        """Add an event, from any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody listens
            self._loop.call_soon_threadsafe(self._add, event, data)

    def _add(self, event: str, data: Any) -> None:
        # Progress and results on the way may be lost, the last ones not.
        is_needed = event != "progress" and (event != "explanation" or data["stage"] == "done")
        if is_needed or len(self._events) < _MOST_UNREAD:
            self._events.append((event, data))
            self._has_events.set()

    async def receive(self) -> tuple[str, Any]:
        """The next event; ``wait`` if there is none for a while."""
        while not self._events:
            self._has_events.clear()
            try:
                await asyncio.wait_for(self._has_events.wait(), _HEARTBEAT)
            except TimeoutError:
                return "wait", None
        return self._events.popleft()


class _Routes:
    """The handlers of requests."""

    def __init__(
        self,
        playground: Playground,
        worker: Worker,
        rules: Rules,
        limits: Limits,
        corpus: Any = None,
        example: str = "",
    ) -> None:
        self._playground, self._worker, self._corpus = playground, worker, corpus
        self._rules, self._limits, self._example = rules, limits, example

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return HTMLResponse(make_page().html)

    async def login(self, request: Request) -> Response:
        """A cookie for those who know the token; the guard has checked it."""
        response = JSONResponse({})
        if self._rules.token is not None:
            response.set_cookie(
                self._rules.cookie, self._rules.session, httponly=True, samesite="strict", path="/"
            )
        return response

    async def info(self, request: Request) -> Response:
        """What can be chosen."""
        corpus = self._corpus and {"name": self._corpus.name, "texts": len(self._corpus)}
        return JSONResponse({
            "models": self._playground.names,
            "methods": OFFERED,
            "characters": self._limits.characters,
            "corpus": corpus,
            "example": self._example,
            "remote": self._playground.remote,
        })  # fmt: skip

    async def explain(self, request: Request) -> Response:
        """An event stream: prediction, quick estimate, better and better explanations."""
        asked = await self._read(request, AskExplain)
        try:
            self._playground.check(asked)
        except ValueError as error:
            raise RefusedError(422, str(error)) from error
        channel = Channel()
        job = self._submit(
            asked, channel,
            short=partial(self._playground.predict_whole, asked=asked),
            long=partial(self._playground.explain, asked=asked),
            is_newest=True,
        )  # fmt: skip
        return StreamingResponse(_follow(job, channel), media_type="text/event-stream")

    async def stop(self, request: Request) -> Response:
        """End the work for a page; what it found stays."""
        asked = await self._read(request, Asked)
        self._worker.cancel(asked.tab)
        return JSONResponse({})

    async def forget(self, request: Request) -> Response:
        """The page was closed: end its work and drop its text."""
        asked = await self._read(request, Asked)
        self._worker.cancel(asked.tab)
        return await self._answer(asked, self._forget)

    def _forget(self, job: Job) -> None:
        self._playground.forget(job.tab)
        job.send("answer", {})

    async def predict(self, request: Request) -> Response:
        """The prediction without some words."""
        asked = await self._read(request, AskPredict)
        return await self._answer(asked, partial(self._playground.predict, asked=asked))

    async def contrast(self, request: Request) -> Response:
        """Why one label and not the other."""
        asked = await self._read(request, AskContrast)
        return await self._answer(asked, partial(self._playground.contrast, pair=asked.contrast))

    async def save(self, request: Request) -> Response:
        """A file of what is seen."""
        asked = await self._read(request, AskSave)
        return await self._answer(asked, partial(self._playground.save, asked=asked))

    async def list_corpus(self, request: Request) -> Response:
        """Texts of the corpus."""
        asked = await self._read(request, AskCorpus)
        self._require_corpus()

        def find(job: Job) -> None:
            job.send("answer", self._corpus.page(asked.start, asked.search))

        return await self._answer(asked, find)

    async def read_corpus(self, request: Request) -> Response:
        """One text of the corpus, as it was explained."""
        asked = await self._read(request, AskCorpusText)
        self._require_corpus()
        self._worker.cancel(asked.tab)

        def read(job: Job) -> None:
            name, explanation = self._corpus.read(asked.number)
            self._playground.show_saved(job, explanation, name)

        return await self._answer(asked, read)

    def _require_corpus(self) -> None:
        if self._corpus is None:
            raise RefusedError(404, "no corpus is open: textsobol serve --corpus DIRECTORY")

    async def _read(self, request: Request, kind: type[A]) -> A:
        """The body of a request, no more of it than is allowed."""
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > self._limits.body:
                most = f"{self._limits.characters:,} characters"
                raise RefusedError(413, f"the text is too long; at most {most} are explained here")
        try:
            return kind.model_validate_json(bytes(body))
        except ValidationError as error:
            raise RefusedError(422, describe_invalid(error)) from error

    def _submit(self, asked: Asked, channel: Channel, **parts: Any) -> Job:
        job = Job(asked.tab, channel.send, seconds=self._limits.seconds, **parts)
        try:
            self._worker.submit(job)
        except BusyError as error:
            raise RefusedError(503, str(error)) from error
        return job

    async def _answer(self, asked: Asked, short: Callable[[Job], None]) -> Response:
        """Run a short job and return its answer, or its error."""
        channel = Channel()
        job = self._submit(asked, channel, short=short)
        try:
            while True:
                event, data = await channel.receive()
                if event == "answer":
                    return JSONResponse(data)
                if event == "error":
                    raise RefusedError(422, data["message"])
                if event == "end":
                    raise RefusedError(503, "the work was stopped")
        finally:
            job.cancel()


async def _follow(job: Job, channel: Channel) -> AsyncIterator[str]:
    """The events of a job as Server-Sent Events; the job ends with its reader."""
    try:
        while True:
            event, data = await channel.receive()
            if event == "end":
                return
            if event == "wait":  # a comment: a connection that is gone is noticed
                yield ": still working\n\n"
                continue
            content = json.dumps(data, separators=(",", ":"), allow_nan=False)
            yield f"event: {event}\ndata: {content}\n\n"
    finally:
        job.cancel()


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return JSONResponse({"error": str(error)}, error.status)


def make_app(
    explainers: Sequence[TextExplainer],
    *,
    rules: Rules | None = None,
    limits: Limits | None = None,
    corpus: str | Path | None = None,
    example: str = "",
) -> Starlette:
    """The playground as an ASGI application.

    Args:
        explainers: the models to choose from.
        rules: whom it answers; by default this machine, on port 8000.
        limits: of texts, requests and time.
        corpus: the output of a corpus job, to browse.
        example: the text that the page begins with.
    """
    rules, limits = rules or Rules(), limits or Limits()
    if not explainers:
        raise ValueError("the playground needs at least one model")
    browser = None
    if corpus is not None:
        from textsobol.serve.corpus import CorpusBrowser

        browser = CorpusBrowser(Path(corpus))
    worker = Worker(limits.waiting)
    playground = Playground(explainers, limits)
    routes = _Routes(playground, worker, rules, limits, browser, example)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        worker.submit(Job("warm-up", lambda event, data: None, playground.warm_up))
        yield
        worker.close()

    posts = {
        "/api/login": routes.login, "/api/info": routes.info, "/api/explain": routes.explain,
        "/api/stop": routes.stop, "/api/forget": routes.forget, "/api/predict": routes.predict,
        "/api/contrast": routes.contrast, "/api/save": routes.save,
        "/api/corpus": routes.list_corpus, "/api/corpus/text": routes.read_corpus,
    }  # fmt: skip
    app = Starlette(
        routes=[
            Route("/", routes.page, methods=["GET"]),
            *(Route(path, handler, methods=["POST"]) for path, handler in posts.items()),
        ],
        middleware=[
            Middleware(Guard, rules=rules, requests=limits.requests, policy=make_page().policy)
        ],
        exception_handlers={RefusedError: _refuse},
        lifespan=lifespan,
    )
    app.state.worker = worker
    return app
