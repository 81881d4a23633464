/** Many clients that follow the ledger, in a separate process. Each checks that no message is missing. */
import { Agent, get } from 'node:http';

export type FollowersReport = {
  readonly connected: number;
  readonly messages: number;
  /** Messages that do not follow the previous one. */
  readonly gaps: number;
  readonly ended: number;
  /** The lowest position of all followers. */
  readonly slowest: number;
  readonly latencyP95Ms: number;
};

const [url = '', token = '', count = '0', after = '0'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
const positions = Array.from({ length: Number(count) }, () => Number(after));
const latencies: number[] = [];
let [connected, messages, gaps, ended] = [0, 0, 0, 0];

function follow(index: number): void {
  const request = get(
    `${url}/v1/events?after=${after}`,
    { agent, headers: { authorization: `Bearer ${token}` } },
    (response) => {
      connected++;
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        rest += piece;
        for (let end; (end = rest.indexOf('\n\n')) !== -1; rest = rest.slice(end + 2))
          read(index, rest.slice(0, end));
      });
      response.on('close', () => ended++);
    },
  );
  request.on('error', () => ended++);
}

function read(index: number, message: string): void {
  const found = /^id: (\d+)\nevent: entry\ndata: \{"position":\d+,"previous":(\d+)/.exec(message);
  if (found === null) return;
  messages++;
  if (Number(found[2]) !== positions[index]) gaps++;
  positions[index] = Number(found[1]);
  if (index % 100 !== 0) return;
  const at = Number(/"at":(\d+)/.exec(message)?.[1]);
  latencies.push(Date.now() - at);
}

// A few at a time, as people arrive.
for (let index = 0; index < positions.length; index++) {
  follow(index);
  if (index % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 10));
}

process.on('message', (order: 'report' | 'stop') => {
  if (order === 'stop') process.exit(0);
  latencies.sort((one, other) => one - other);
  process.send?.({
    connected,
    messages,
    gaps,
    ended,
    slowest: Math.min(...positions),
    latencyP95Ms: latencies[Math.floor(latencies.length * 0.95)] ?? 0,
  } satisfies FollowersReport);
});
process.send?.('ready');
