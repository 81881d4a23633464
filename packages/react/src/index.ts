'use client';

export { useToolCalls } from './use-tool-calls.ts';
export type { Reading, ToolCallsReading } from './use-tool-calls.ts';
export { useToolCallStatus } from './use-tool-call-status.ts';
export type { ToolCallReading, WhichCall } from './use-tool-call-status.ts';
export type { ToolCallSource } from './source-reader.ts';
export { eventStream } from './event-stream.ts';
export { ToolCallStatus } from './tool-call-status.tsx';
export type {
  ToolCallHandlers,
  ToolCallParts,
  ToolCallStatusProps,
  ToolCallSubject,
} from './tool-call-status.tsx';
export { ToolCallCard } from './tool-call-card.tsx';
export type { ToolCallCardProps, ToolCallSlots } from './tool-call-card.tsx';
export { useConsent } from './use-consent.ts';
export type { Consent, HowRead, OnDecide, ToolCallDecision } from './use-consent.ts';
export { useUndo } from './use-undo.ts';
export type { OnUndo, UndoAsked, Undoing } from './use-undo.ts';
export type { Sending } from './use-send-once.ts';

export { fromMessageParts } from 'quittance/internal/view/from-message-parts';
export {
  findToolCall,
  listToolCalls,
  noToolCalls,
  reduceToolCalls,
} from 'quittance/internal/view/tool-calls';
export type { ToolCalls } from 'quittance/internal/view/tool-calls';
export type {
  DisplayStatus,
  ShownAttempt,
  ShownConfirmation,
  ShownPreview,
  ToolCallView,
} from 'quittance/internal/view/tool-call-view';
export { statusWords } from 'quittance/internal/view/status-words';
export type { StatusTone } from 'quittance/internal/view/status-words';
export { shownId } from 'quittance/internal/base/safe-id';
export { readDiff } from 'quittance/internal/view/diff-rows';
export type { Diff, DiffRow } from 'quittance/internal/view/diff-rows';
