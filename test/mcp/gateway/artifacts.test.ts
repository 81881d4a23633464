import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { effectServer, makeFolder, startGateway } from './start-gateway.ts';

type Part = { readonly type: string; readonly text?: string; readonly uri?: string };

describe.each(['legacy', 'modern'] as const)('a result that is too large, for a %s client', (era) => {
  it('is read in pieces with read_artifact, and as a resource', async () => {
    const { connect } = await startGateway([effectServer('notes', join(makeFolder(), 'effects'))]);
    const client = await connect(era);
    const { content } = await client.callTool({ name: 'get_long_text', arguments: {} });
    const parts = content as readonly Part[];
    const said = parts.find(({ type }) => type === 'text')?.text ?? '';
    expect(said.length).toBeLessThan(20_000);
    const artifactId = /art_\w+/.exec(said)?.[0] ?? '';
    const found = await client.callTool({
      name: 'read_artifact',
      arguments: { artifactId, search: 'THE END' },
    });
    expect(found.isError).not.toBe(true);
    expect(JSON.stringify(found.content)).toContain('THE END');

    const uri = parts.find(({ type }) => type === 'resource_link')?.uri ?? '';
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, mimeType: 'image/png' }]);
    const other = uri.replace(/mcp%3A[^%]+/, 'mcp%3Aeve');
    expect(other).not.toBe(uri);
    await expect(client.readResource({ uri: other })).rejects.toThrow('Unknown resource');
  });
});
