import { describe, expect, it } from 'vitest';
import { isShownAs, safeId } from './safe-id.ts';

/** Made up here, so that no scanner mistakes this file for a leak. */
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG';
const fake = (length: number): string => letters.repeat(4).slice(0, length);

describe('a displayed id', () => {
  it.each([
    `call_${fake(24)}`, // OpenAI chat completions
    `fc_${'0123456789abcdef'.repeat(3)}`, // OpenAI responses
    `toolu_01${fake(22)}`, // Anthropic
    `srvtoolu_01${fake(22)}`,
    `toolu_bdrk_01${fake(22)}`,
    `tooluse_${fake(22)}`, // Bedrock
    fake(9), // Mistral
    '0f8fad5b-d9cb-469f-a165-70867728950e', // LangChain runs, Gemini
    `run-0f8fad5b-d9cb-469f-a165-70867728950e-0`,
    `aitxt-${fake(24)}`, // AI SDK
    `aiobj-${fake(24)}`,
    fake(16), // Mastra
    'adk-0f8fad5b-d9cb-469f-a165-70867728950e', // Google ADK
    'chatcmpl-tool-0123456789abcdef0123456789abcdef', // vLLM
    'functions.get_weather:0', // Kimi
    '1',
    '17', // MCP
    'session-1700000000000',
    'user@example.org/2026-11-15',
    `thread_${fake(24)}`,
    `resp_${'0123456789abcdef'.repeat(3)}`,
    `msg_01${fake(22)}`,
  ])('is shown unchanged: %s', (id) => {
    expect(safeId(id)).toBe(id);
  });

  it.each([
    `sk-${fake(48)}`,
    `sk-ant-api03-${fake(60)}`,
    `ghp_${fake(36)}`,
    `AKIA${'IOSFODNN7EXAMPLE'}`,
    `session for password=${fake(12)}`,
    '4111111111111111',
  ])('is shown as a number if it looks like a secret: %s', (id) => {
    const shown = safeId(id);
    expect(shown).toMatch(/^\[REDACTED\]~[0-9a-f]{6}$/);
    expect(shown).toBe(safeId(id));
    expect(isShownAs(id, shown)).toBe(true);
    expect(isShownAs(`${id}1`, shown)).toBe(false);
    expect(safeId(shown)).toBe(shown);
  });

  it('is not confused with another id that ends alike', () => {
    expect(isShownAs('plain', safeId('plain'))).toBe(false);
    expect(isShownAs(`sk-${fake(48)}`, 'x')).toBe(false);
  });
});
