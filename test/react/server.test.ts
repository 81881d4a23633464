import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { ToolCallCard, useToolCalls } from '@quittance/react';
import { expect, test } from 'vitest';
import { payRule, person, quorumStage, ruleset } from '../people/quorum-stage.ts';
import { createFeed } from './feed.ts';
import { everyState } from './staged-calls.ts';

const states = await everyState();

test('a server renders complete calls, without a clock', () => {
  const source = states.get('held');
  const html = renderToString(
    createElement(ToolCallCard, { callId: 'call_held', source, onDecide: () => 0 }),
  );
  expect(html).toContain('data-status="held"');
  expect(html).toContain('billing/refunds.ts');
  // Content that depends on the time would differ on the page.
  expect(html).not.toContain(' left, then');
  expect(html).not.toContain('style=');
});

test('a server reads nothing from a source that has not started', () => {
  const feed = createFeed();
  const Count = () => createElement('p', null, useToolCalls(feed.source).calls.length);
  expect(renderToString(createElement(Count))).toBe('<p>0</p>');
  expect(renderToString(createElement(ToolCallCard, { callId: 'x', source: feed.source }))).toContain(
    'Waiting',
  );
  expect(feed.readings.begun).toBe(0);
});

test('a card shows who has approved, for whom, and who is still missing', async () => {
  const stage = quorumStage(ruleset(payRule('{ groups: [finance], quorum: 3, exclude: [asker] }')));
  const question = await stage.ask('c');
  await stage.runtime.delegations.give({
    by: 'ada',
    identity: person('ada', ['finance']),
    to: 'dan',
    until: stage.clock.now() + 60_000,
  });
  const read = async (): Promise<string> => {
    const source = await stage.runtime.events.list({ sessionId: 's' });
    const html = renderToString(createElement(ToolCallCard, { callId: 'c', source, onDecide: () => 0 }));
    return html
      .replaceAll(/<!-- -->/g, '')
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ');
  };
  expect(await read()).toContain('3 of 3 missing: group finance rule big');
  await stage.approve(question, person('dan'));
  await stage.approve(question, person('eve', ['finance']));
  const half = await read();
  expect(half).toContain('dan approved for ada verified by https://id.example as dan');
  expect(half).toContain('eve approved verified by https://id.example as eve');
  expect(half).toContain('1 of 3 missing: group finance');
  await stage.approve(question, person('tom', ['finance']));
  await stage.ended('c');
  const over = await read();
  expect(over).not.toContain('missing:');
});
