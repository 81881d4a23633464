import { readFileSync } from 'node:fs';
import { isQuittanceError } from '../base/error.ts';
import type { NotificationsSettings } from '../notifications/notifications-settings.ts';
import { readNotifications } from '../notifications/read-notifications.ts';
import type { Context } from './command.ts';
import { needFile } from './load-or-explain.ts';
import { UsageError } from './usage-error.ts';

const line = 'quittance notifications check notifications.yaml';

/** Reads a notifications file, or explains every problem. Variables in it come from the environment. */
export function loadNotifications(path: string, { env }: Pick<Context, 'env'>): NotificationsSettings {
  needFile(path, line);
  try {
    return readNotifications(readFileSync(path), path, (name) => env[name]);
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid')) throw new UsageError(error.message, [line]);
    throw error;
  }
}
