import { readFileSync } from 'node:fs';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { NotificationsSettings } from '@quittance/server/internal/notifications/notifications-settings';
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import {
  readNotifications,
  readQuietHours,
} from '@quittance/server/internal/notifications/read-notifications';
import type { Context } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { needFile } from './load-or-explain.ts';
import { UsageError } from './usage-error.ts';

const line = 'quittance notifications check notifications.yaml';

/** Reads a notifications file, or explains every problem. Variables in it come from the environment. */
export const loadNotifications = (path: string, { env }: Pick<Context, 'env'>): NotificationsSettings =>
  readOrExplain(path, (text) => readNotifications(text, path, (name) => env[name]));

/** Reads only the quiet hours, for a command that sends no messages. */
export const loadQuietHours = (path: string): readonly QuietHours[] =>
  readOrExplain(path, (text) => readQuietHours(text, path));

function readOrExplain<Value>(path: string, read: (text: Uint8Array) => Value): Value {
  needFile(path, line);
  try {
    return read(readFileSync(path));
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    const [message = '', ...problems] = error.message.split('\n');
    throw new UsageError(message, [line], exitCodes.usage, problems);
  }
}
