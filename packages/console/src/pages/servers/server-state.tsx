/** The state of a server and of its tools, in words. */
import type { ReactNode } from 'react';
import type { McpGatewayRow, McpServerRow, McpToolRow } from '@quittance/server/internal/http/api/mcp';
import type { Tone } from '../../ui/outcome-badge.tsx';

type Words = { readonly word: string; readonly tone: Tone; readonly means: string };

const states: { readonly [State in McpServerRow['state']]: Words } = {
  connected: { word: 'connected', tone: 'good', means: 'A gateway is connected to the server.' },
  starting: { word: 'starting', tone: 'active', means: 'A gateway is starting the server.' },
  idle: { word: 'idle', tone: 'quiet', means: 'The gateway starts the server with the next request.' },
  failing: { word: 'failing', tone: 'bad', means: 'The server could not be started, or ended.' },
  stale: {
    word: 'not responding',
    tone: 'unsure',
    means: 'The gateway did not report lately. This page may be outdated.',
  },
  disconnected: {
    word: 'disconnected',
    tone: 'quiet',
    means: 'No gateway is running. This page shows its last report.',
  },
};

export const describeState = (state: McpServerRow['state']): Words => states[state];

export function StateBadge({ state }: { readonly state: McpServerRow['state'] }): ReactNode {
  const { word, tone, means } = states[state];
  return (
    <span className="badge" data-tone={tone} title={means}>
      <span className="dot" aria-hidden="true" />
      {word}
    </span>
  );
}

export const gatewayStates: { readonly [State in McpGatewayRow['state']]: string } = {
  live: 'running',
  silent: 'not responding',
  ended: 'stopped',
  lost: 'ended without a report',
};

export const serverStatuses: { readonly [Status in McpGatewayRow['status']]: string } = {
  idle: 'idle',
  starting: 'starting',
  ready: 'connected',
  failed: 'failed',
};

/** The state of a review. */
export function describeReview({ status, asks }: Pick<McpToolRow, 'status' | 'asks'>): {
  readonly word: string;
  readonly tone: Tone;
} {
  switch (status) {
    case 'approved':
      return asks ? { word: 'asks every time', tone: 'active' } : { word: 'approved', tone: 'good' };
    case 'blocked':
      return { word: 'blocked', tone: 'quiet' };
    case 'unknown':
      return { word: 'not reviewed', tone: 'attention' };
    case 'changed':
      return { word: 'changed', tone: 'bad' };
  }
}

export function ReviewBadge({ tool }: { readonly tool: Pick<McpToolRow, 'status' | 'asks'> }): ReactNode {
  const { word, tone } = describeReview(tool);
  return (
    <span className="badge" data-tone={tone}>
      <span className="dot" aria-hidden="true" />
      {word}
    </span>
  );
}

export const needsReview = ({ status }: Pick<McpToolRow, 'status'>): boolean =>
  status === 'unknown' || status === 'changed';
