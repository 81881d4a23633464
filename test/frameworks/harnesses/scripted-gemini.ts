/** The Gemini API on a local port, played from a script, for clients of the real SDK. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Content, Part } from '@google/genai';
import type { Round, Script, Told } from '../suite/harness.ts';
import { createPlayer } from '../suite/harness.ts';

export type GeminiServer = {
  readonly url: string;
  /** The bodies of the requests. */
  readonly requests: readonly GeminiRequest[];
  close(): Promise<void>;
};

export type GeminiRequest = { readonly contents: readonly Content[]; readonly tools?: readonly unknown[] };

/** `toParts` returns the parts of the model's message; by default with the ids of the script. */
export async function serveGemini(
  script: Script,
  told: Told[],
  toParts: (round: Round) => Part[] = partsOf,
): Promise<GeminiServer> {
  const player = createPlayer(script);
  const requests: GeminiRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const asked = JSON.parse(body) as GeminiRequest;
      requests.push(asked);
      told.splice(0, told.length, ...asked.contents.flatMap(readTold));
      const parts = toParts(await player.next(told));
      const say = (some: readonly Part[], finishReason?: string) => ({
        candidates: [{ content: { role: 'model', parts: some }, ...(finishReason && { finishReason }) }],
      });
      if (!request.url?.includes('alt=sse')) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(say(parts, 'STOP')));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // Each part in its own chunk, as the API may send them.
      for (const [index, part] of parts.entries())
        response.write(
          `data: ${JSON.stringify(say([part], index === parts.length - 1 ? 'STOP' : undefined))}\r\n\r\n`,
        );
      response.end();
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const partsOf = (round: Round): Part[] =>
  'text' in round
    ? [{ text: round.text }]
    : round.calls.map(({ id, name, arguments: args }) => ({ functionCall: { id, name, args } }));

const readTold = ({ parts = [] }: Content): readonly Told[] =>
  parts.flatMap(({ functionResponse }) => {
    if (functionResponse === undefined) return [];
    const { output, error, note } = functionResponse.response as Record<string, string | undefined>;
    return {
      callId: functionResponse.id ?? functionResponse.name ?? '',
      texts: [output ?? error ?? '', ...(note === undefined ? [] : [note])],
      isError: error !== undefined,
    };
  });
