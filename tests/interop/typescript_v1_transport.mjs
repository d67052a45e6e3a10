// The transport of a client, 1.x, to a URL or a command.

import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

function plain([first, ...rest]) {
  if (first.startsWith('http://')) return new StreamableHTTPClientTransport(new URL(first));
  return new StdioClientTransport({ command: first, args: rest });
}

// The client keeps the agreed revision to itself, but tells its transport, and so `hear`.
export function transport(target, hear) {
  const carrier = plain(target);
  const tell = carrier.setProtocolVersion?.bind(carrier);
  carrier.setProtocolVersion = (revision) => {
    hear(revision);
    tell?.(revision);
  };
  return carrier;
}
