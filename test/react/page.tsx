/**
 * The page of the browser tests: cards over a source that the test feeds, with handlers that ask the test.
 */
import type axe from 'axe-core';
import type { ReactNode } from 'react';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import type { ToolCallSource } from '@quittance/react';
import { fromMessageParts, ToolCallCard, ToolCallStatus, useToolCalls } from '@quittance/react';
import '@quittance/react/react.css';
import './page.css';
import { createFeed } from './feed.ts';

declare global {
  interface Window {
    /** The test's answers. */
    decide?: (confirmationId: string, decision: unknown) => Promise<unknown>;
    undo?: (call: unknown, request: unknown) => Promise<unknown>;
    /** The test's actions. */
    feed: ReturnType<typeof createFeed>;
    show: (view: View) => void;
    rendered: Record<string, number>;
    axe: typeof axe;
  }
}

type View =
  | { readonly type: 'list' }
  | { readonly type: 'one'; readonly callId: string }
  | { readonly type: 'headless'; readonly callId: string }
  | { readonly type: 'parts'; readonly parts: readonly unknown[] }
  | { readonly type: 'nothing' }
  | { readonly type: 'another source'; readonly events: readonly unknown[] };

window.rendered = {};
window.feed = createFeed();

const handlers = {
  onDecide: (confirmationId: string, decision: unknown) => window.decide?.(confirmationId, decision),
  onUndo: ({ sessionId, callId }: { sessionId: string | undefined; callId: string }, request: unknown) =>
    window.undo?.({ sessionId, callId }, request),
};

function List({ source }: { readonly source: ToolCallSource }): ReactNode {
  const { calls, error, hasEnded } = useToolCalls(source);
  return (
    <>
      {calls.map((call) => (
        <ToolCallCard key={call.key} call={call} {...handlers} />
      ))}
      <p data-testid="reading">{error?.message ?? (hasEnded ? 'ended' : 'reading')}</p>
    </>
  );
}

function Page(): ReactNode {
  const [view, setView] = useState<View>({ type: 'list' });
  window.show = setView;
  switch (view.type) {
    case 'list':
      return <List source={window.feed.source} />;
    case 'one':
      return <ToolCallCard callId={view.callId} source={window.feed.source} {...handlers} />;
    case 'headless':
      return (
        <ToolCallStatus callId={view.callId} source={window.feed.source} {...handlers}>
          {({ call, label, consent }) => {
            window.rendered[call.callId] = (window.rendered[call.callId] ?? 0) + 1;
            return (
              <p>
                {call.toolName} is {label}. {consent && <button onClick={consent.approve}>Yes</button>}
              </p>
            );
          }}
        </ToolCallStatus>
      );
    case 'parts':
      return <List source={fromMessageParts(view.parts)} />;
    case 'another source':
      return <List source={view.events} />;
    case 'nothing':
      return <p>Nothing is shown.</p>;
  }
}

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <h1>Calls</h1>
    <Page />
  </StrictMode>,
);
