import { createMemoryLedger } from 'quittance/ledger';
import { alterLedger } from '../../alter-ledger.ts';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OwnerStatus } from '../../../packages/quittance/src/ledger/ledger.ts';
import type { ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { openReviewDocuments } from '../../../packages/server/src/mcp-reviews/review-documents.ts';
import { GatewayBoard } from '../../../packages/server/src/mcp-reviews/gateway-board.ts';
import type { GatewayReport } from '../../../packages/server/src/mcp-reviews/gateway-report.ts';
import { shownAddress, shownError } from '../../../packages/mcp/src/gateway/gateway.ts';

const report = (gatewayId: string, seenAt: number, more: Partial<GatewayReport> = {}): GatewayReport => ({
  gatewayId,
  ownerId: `owner of ${gatewayId}`,
  startedAt: 0,
  seenAt,
  endedAt: undefined,
  observes: false,
  clients: ['desktop'],
  servers: [
    {
      name: 'files',
      address: 'a1',
      transport: 'stdio',
      place: 'npx server-files',
      isTrusted: false,
      status: 'ready',
      era: 'legacy',
      connections: 1,
      failures: 0,
      restarts: 0,
      lastError: undefined,
      retryAt: undefined,
      oddities: 0,
      prefix: '',
    },
  ],
  ...more,
});

function makeBoards() {
  const ledger = join(mkdtempSync(join(tmpdir(), 'quittance-')), 'ledger.db');
  const clock = { now: 1_000_000 };
  const gone = new Set<string>();
  const owners = alterLedger(createMemoryLedger(), {
    statusOf: async (ownerId): Promise<OwnerStatus> => (gone.has(ownerId) ? 'gone' : 'unknown'),
  });
  const open = (): GatewayBoard =>
    new GatewayBoard(openReviewDocuments({}, ledger, 'gateways'), owners, () => clock.now);
  return { clock, gone, open };
}
type Boards = ReturnType<typeof makeBoards>;
const statesOn = async (board: GatewayBoard): Promise<readonly (readonly [string, string])[]> =>
  (await board.list()).map(({ report: { gatewayId }, state }) => [gatewayId, state]);

describe('the report of a gateway', () => {
  test('is read as it was written, by another process', async () => {
    const { open, clock } = makeBoards();
    await open().publish(report('g1', clock.now));
    expect(await open().list()).toEqual([{ report: report('g1', clock.now), state: 'live' }]);
  });

  test.each([
    ['is silent', 'silent', (boards: Boards) => (boards.clock.now += 60_000)],
    ['has a clock far ahead', 'silent', (boards: Boards) => (boards.clock.now -= 60_000)],
    ['ended without a word', 'lost', (boards: Boards) => boards.gone.add('owner of g1')],
  ] as const)('is not current if its process %s', async (_, state, happen) => {
    const boards = makeBoards();
    const reader = boards.open();
    await boards.open().publish(report('g1', boards.clock.now));
    expect(await statesOn(reader)).toEqual([['g1', 'live']]);
    happen(boards);
    expect(await statesOn(reader)).toEqual([['g1', state]]);
  });

  test('says that the gateway ended', async () => {
    const { open, clock } = makeBoards();
    await open().publish(report('g1', clock.now));
    await open().publish(report('g1', clock.now, { endedAt: clock.now }));
    expect(await statesOn(open())).toEqual([['g1', 'ended']]);
  });

  test('does not replace those of other gateways, also if all report at once', async () => {
    const { open, clock } = makeBoards();
    const ids = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(ids.map((id) => open().publish(report(id, clock.now))));
    expect((await statesOn(open())).map(([id]) => id).toSorted()).toEqual(ids);
  });

  test('is dropped once a newer one tells of the same servers, and kept if it is the last', async () => {
    const { open, clock } = makeBoards();
    const other = report('other', clock.now);
    const [server] = other.servers;
    if (server === undefined) throw new Error('There is a server.');
    await open().publish({ ...other, servers: [{ ...server, name: 'mail' }], endedAt: clock.now });
    for (let round = 0; round < 300; round++) {
      clock.now += 100;
      await open().publish(report(`g${round}`, clock.now, { endedAt: clock.now }));
    }
    expect(await statesOn(open())).toEqual([
      ['g299', 'ended'],
      ['other', 'ended'],
    ]);
  });
});

describe('the address and the errors of a server', () => {
  const common = { name: 'x', isTrusted: false, isDisabled: false, tools: {} };
  const stdio = (args: readonly string[], env: Readonly<Record<string, string>> = {}): ServerEntry => ({
    ...common,
    type: 'stdio',
    command: 'npx',
    args,
    env,
  });
  const http = (url: string, headers: Readonly<Record<string, string>> = {}): ServerEntry => ({
    ...common,
    type: 'http',
    url: new URL(url),
    headers,
  });

  test.each([
    [stdio(['-y', 'server', '--api-key', 'hunter2hunter2', '/home/a b']), 'npx -y server --api-key'],
    [stdio(['server', '--token=hunter2hunter2']), 'npx server --token='],
    [stdio(['server', 'hunter2hunter2'], { KEY: 'hunter2hunter2' }), 'npx server'],
    [http('https://mcp.example/api/s/hunter2hunter2abc9/mcp'), 'https://mcp.example/api/s/…/mcp'],
    [http('https://mcp.example/mcp?key=hunter2hunter2'), 'https://mcp.example/mcp?…'],
    [http('https://ada:hunter2hunter2@mcp.example/'), 'https://mcp.example/'],
  ])('show no secret (%#)', (entry, start) => {
    const shown = shownAddress(entry);
    expect(shown).toMatch(start);
    expect(shown).not.toContain('hunter2');
  });

  test('hide values of headers and variables in what a server reports', () => {
    const said = 'GET https://mcp.example/mcp?key=query-secret-1 was refused: Bearer header-secret-1';
    const entry = http('https://mcp.example/mcp?key=query-secret-1', {
      authorization: 'Bearer header-secret-1',
    });
    expect(shownError(entry, said)).not.toMatch(/secret-1/);
    expect(shownError(stdio([], { TOKEN: 'env-secret-1' }), 'bad env-secret-1')).not.toContain('secret-1');
    expect(shownError(stdio([]), 'x'.repeat(100_000)).length).toBeLessThan(1_000);
  });
});
