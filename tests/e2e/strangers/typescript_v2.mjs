// The TypeScript SDK's second generation: either era, as asked.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { info, obey, server, settings } from "./puppet.mjs";

const mode = settings.era === "legacy" ? "legacy" : { pin: settings.era };
const client = new Client(info, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport(server));
await obey(client, client.getNegotiatedProtocolVersion());
