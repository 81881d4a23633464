import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { ToolCallCard, useToolCalls } from 'quittance/react';
import { expect, test } from 'vitest';
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
