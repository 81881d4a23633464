/** A route that does nothing, served by the same library: the base cost of a request on this machine at this moment. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { ServerReport } from './server.ts';

const app = new Hono().get('/hello', (context) => context.json({ hello: 'world' }));
const listener = getRequestListener((request) => app.fetch(request), { overrideGlobalObjects: false });
const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a path
  process.send?.({ url: `http://127.0.0.1:${port}`, token: '' });
});
process.on('message', (order: 'report' | 'stop') => {
  if (order === 'stop') process.exit(0);
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1e6 } satisfies Pick<ServerReport, 'cpuSeconds'>);
});
