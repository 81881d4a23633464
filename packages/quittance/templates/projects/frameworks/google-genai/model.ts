/**
 * A client with scripted answers, so that the project runs without an API key. The script answers on a local port.
 * Replace it with `new GoogleGenAI({ apiKey })`.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GoogleGenAI } from '@google/genai';

const refund = (order: string, cents: number) => ({
  functionCall: { name: 'refund', args: { order, cents } },
});

export async function createClient(): Promise<{ readonly ai: GoogleGenAI; close(): Promise<void> }> {
  const answers = [[refund('A-1', 900), refund('B-2', 9_000)], [{ text: 'I am done with the refunds.' }]];
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ candidates: [{ content: { role: 'model', parts: answers.shift() } }] })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: `http://127.0.0.1:${port}` } });
  return {
    ai,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
