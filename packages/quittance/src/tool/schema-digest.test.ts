import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AnyTool } from './define-tool.ts';
import { defineTool, isSameSchema } from './define-tool.ts';

let made = 0;
const tool = (input: z.ZodType): AnyTool => defineTool({ name: 't', input, run: () => null });
const ofJson = (input: Record<string, unknown>): AnyTool =>
  defineTool({ name: 't', input: { type: 'object', ...input } as never, run: () => null });

describe('the digest of a schema', () => {
  it.each([
    ['a default', () => z.object({ on: z.number().default(() => ++made) })],
    ['a prefault', () => z.object({ on: z.number().prefault(() => ++made) })],
    ['a catch', () => z.object({ on: z.number().catch(() => ++made) })],
    [
      'a nested default',
      () => z.object({ each: z.array(z.object({ on: z.number().default(() => ++made) })) }),
    ],
    [
      'a default of a union',
      () => z.object({ each: z.union([z.string(), z.object({ on: z.number().default(() => ++made) })]) }),
    ],
  ])('stays the same if %s is a function', (_, schema) => {
    expect(tool(schema()).schemaDigest).toBe(tool(schema()).schemaDigest);
  });

  it('includes whether there is a default', () => {
    expect(tool(z.object({ n: z.number() })).schemaDigest).not.toBe(
      tool(z.object({ n: z.number().default(1) })).schemaDigest,
    );
  });

  it('treats a property or a constant named default as data', () => {
    const property = (type: string): AnyTool => ofJson({ properties: { default: { type } } });
    expect(property('string').schemaDigest).not.toBe(property('number').schemaDigest);
    const constant = (value: number): AnyTool =>
      ofJson({ properties: { of: { const: { default: value } } } });
    expect(constant(1).schemaDigest).not.toBe(constant(2).schemaDigest);
    const defined = (type: string): AnyTool => ofJson({ $defs: { default: { type } } });
    expect(defined('string').schemaDigest).not.toBe(defined('number').schemaDigest);
  });

  it('is recognized in records that include default values', () => {
    const now = tool(z.object({ n: z.number().default(1) }));
    const other = tool(z.object({ n: z.number().default(2) }));
    expect(now.schemaDigestWithDefaults).not.toBe(other.schemaDigestWithDefaults);
    expect(isSameSchema(now, now.schemaDigestWithDefaults)).toBe(true);
    expect(isSameSchema(now, other.schemaDigestWithDefaults)).toBe(false);
    expect(isSameSchema(now, undefined)).toBe(true);
  });

  it('equals that of earlier versions if there is no default', () => {
    const plain = tool(z.object({ n: z.number() }));
    expect(plain.schemaDigestWithDefaults).toBe(plain.schemaDigest);
  });
});
