/** Gateways that share a ledger tell their clients of a review only if it changes what clients see. */
import { expect, it, onTestFinished } from 'vitest';
import { Gateway } from '../../../packages/mcp/src/gateway/gateway.ts';
import { openReviewDocuments } from '../../../packages/server/src/mcp-reviews/review-documents.ts';
import { toReviewedServer } from '../../../packages/server/src/mcp-reviews/review-content.ts';
import { ToolReviews } from '../../../packages/server/src/mcp-reviews/tool-reviews.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { startRawServer } from '../gateway/raw-server.ts';

const toolNamed = (name: string) => ({ name, inputSchema: { type: 'object', properties: {} } });

it('a list of another gateway tells clients nothing, and an answer of a person tells them once', async () => {
  const server = await startRawServer(({ method }) =>
    method === 'tools/list' ? { tools: [toolNamed('create_note')] } : undefined,
  );
  const ledger = createMemoryLedger();
  const documents = openReviewDocuments(ledger, undefined);
  const reviewsOf = (): ToolReviews => new ToolReviews(documents, () => ledger.now());
  const gateway = new Gateway({
    config: { servers: [server.entry], observe: false },
    ledger,
    reviews: reviewsOf(),
    version: '1',
  });
  onTestFinished(() => gateway.close());
  await gateway.start();
  let told = 0;
  gateway.onChange(() => void (told += 1));
  const others = reviewsOf();
  for (let round = 0; round < 5; round++) {
    await others.note(server.entry, [toolNamed(`of_another_session_${round}`)]);
    await gateway.applyReviews();
  }
  expect(told).toBe(0);
  await others.note(server.entry, [toolNamed('create_note')]);
  const [listed] = await others.list();
  const review = listed?.tools[0]?.review;
  await others.approve({
    server: 'raw',
    address: toReviewedServer(server.entry).address,
    tool: 'create_note',
    by: 'ada',
    verdict: 'allow',
    mode: 'safe_write',
    digest: review?.digest ?? '',
  });
  await gateway.applyReviews();
  await gateway.applyReviews();
  expect(told).toBe(1);
});
