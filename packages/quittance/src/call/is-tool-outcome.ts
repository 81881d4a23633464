import { isJsonObject } from '../base/json.ts';
import { outcomeToModelContent } from './model-content.ts';
import type { ToolOutcome } from './outcome.ts';
import { isOutcomeType } from './outcome.ts';

/** Distinguishes an outcome from the output of a tool, even after both were stored as JSON. */
export function isToolOutcome(value: unknown): value is ToolOutcome {
  if (!isJsonObject(value) || !Object.hasOwn(value, 'type') || !isOutcomeType(value['type'])) return false;
  if (typeof value['toolName'] !== 'string' || typeof value['callId'] !== 'string') return false;
  try {
    // A real outcome of this type can be rendered for the model.
    return typeof outcomeToModelContent(value as ToolOutcome) === 'string';
  } catch {
    return false;
  }
}
