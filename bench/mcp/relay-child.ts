/** The plainest relay: it reads every message, and writes it to the other side. It checks and records nothing. */
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const [command = '', ...args] = process.argv.slice(2);
const [client, server] = [new StdioServerTransport(), new StdioClientTransport({ command, args })];
client.onmessage = (message) => void server.send(message);
server.onmessage = (message) => void client.send(message);
client.onclose = () => void server.close();
await server.start();
await client.start();
