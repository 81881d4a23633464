import { expect, test } from 'vitest';
import type { Given } from './command.ts';
import { loadTelemetry } from './load-telemetry.ts';

/** Only the texts of options are read. */
const typed = (options: Readonly<Record<string, string>>): Given =>
  ({ text: (name: string) => options[name] }) as unknown as Given;

test('telemetry is loaded only if it is asked for', async () => {
  expect(await loadTelemetry(typed({}))).toBeUndefined();
  expect(await loadTelemetry(typed({ telemetry: 'none' }))).toBeUndefined();
  const loaded = await loadTelemetry(typed({ telemetry: 'opentelemetry' }));
  expect(typeof loaded?.startCall).toBe('function');
});

test('the public address becomes the address of calls in spans, and must be one', async () => {
  await expect(
    loadTelemetry(typed({ telemetry: 'opentelemetry', 'public-url': 'javascript:alert(1)' })),
  ).rejects.toMatchObject({ code: 'config.invalid' });
});
