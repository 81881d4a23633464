/** Loads OpenTelemetry for a server. Its package is optional, and few servers use it. */
import type { Telemetry } from 'quittance/internal/runtime/telemetry';
import type { Given } from './command.ts';
import { UsageError } from './usage-error.ts';

export async function loadTelemetry(given: Given): Promise<Telemetry | undefined> {
  if (given.text('telemetry') !== 'opentelemetry') return undefined;
  const consoleUrl = given.text('public-url') ?? given.text('console-url');
  try {
    const { openTelemetry } = await import('@quittance/opentelemetry/internal/open-telemetry');
    return openTelemetry(consoleUrl === undefined ? {} : { consoleUrl });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
      throw new UsageError(
        '--telemetry opentelemetry needs the packages @quittance/opentelemetry and @opentelemetry/api.',
        ['npm install @quittance/opentelemetry @opentelemetry/api @opentelemetry/auto-instrumentations-node'],
      );
    throw error;
  }
}
