"""Messages between a browser and a session: what a public server takes, and what it does not tell.

Streamlit's browser may also ask for Git's state, for addresses of uploads, for all caches to be emptied, and for files
to be written; each session starts with the path of the program and the versions of what runs it.
"""

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

LONGEST_MESSAGE = 400_000  # bytes: three fields of pasted text, and six pins

_TAKEN = ("rerun_script", "stop_script", "app_heartbeat")
_OPERATIONS = ("deferred_file", "dataframe_chunk")  # a download, and more rows of a table


class ImproperMessage(ValueError):
    """What no page sends; `code` is the one that the websocket is closed with (RFC 6455, section 7.4.1)."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


def taken(data: bytes | None) -> str:
    """The kind of a message, None where it is text, that goes on to its session; "" for one that is passed over.

    Raises:
        ImproperMessage: no page sends it.
    """
    if data is None:
        raise ImproperMessage("text in place of bytes", 1003)
    if len(data) > LONGEST_MESSAGE:
        raise ImproperMessage(f"more than {LONGEST_MESSAGE} bytes", 1009)
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except Exception as error:  # its kind differs between builds of protobuf
        raise ImproperMessage("not a message of Streamlit", 1002) from error
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        return kind if message.backend_operation_request.WhichOneof("payload") in _OPERATIONS else ""
    return kind if kind in _TAKEN else ""


def reticent(data: bytes) -> tuple[str, bytes]:
    """The kind of a message to the browser, and the message without what it says of the machine.

    A script that ends early because it is run again has not finished: "script_restarted".
    """
    message = ForwardMsg()
    message.ParseFromString(data)
    kind = str(message.WhichOneof("type"))
    if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
        return "script_restarted", data
    if kind != "new_session":
        return kind, data
    session = message.new_session
    session.main_script_path = session.name
    begin = session.initialize
    for part in (begin.environment_info, begin.user_info):
        part.Clear()
        part.SetInParent()
    shortened: bytes = message.SerializeToString()
    return kind, shortened
