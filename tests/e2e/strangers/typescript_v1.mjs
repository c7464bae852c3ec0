// The TypeScript SDK's first generation: it knows the handshake alone.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { info, obey, server } from "./puppet.mjs";

const transport = new StdioClientTransport(server);
let version;
transport.setProtocolVersion = (negotiated) => (version = negotiated);
const client = new Client(info);
await client.connect(transport);
await obey(client, version);
