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

export { fromMessageParts } from '../view/from-message-parts.ts';
export { findToolCall, listToolCalls, noToolCalls, reduceToolCalls } from '../view/tool-calls.ts';
export type { ToolCalls } from '../view/tool-calls.ts';
export type {
  DisplayStatus,
  ShownAttempt,
  ShownConfirmation,
  ShownPreview,
  ToolCallView,
} from '../view/tool-call-view.ts';
export { statusWords } from '../view/status-words.ts';
export type { StatusTone } from '../view/status-words.ts';
export { shownId } from '../base/safe-id.ts';
export { readDiff } from '../view/diff-rows.ts';
export type { Diff, DiffRow } from '../view/diff-rows.ts';
