import { describe, expect, it } from 'vitest';
import { parseSelector } from './parse-selector.ts';

describe('a selector', () => {
  it.each([
    ['args.a.b', 'args', ['a', 'b']],
    ['args.__proto__.constructor', 'args', ['__proto__', 'constructor']],
    ['args.file-path', 'args', ['file-path']],
    ['tool.name', 'tool.name', []],
    ['environment', 'environment', []],
    ['output.text', 'output.text', []],
    ['result.a', 'result', ['a']],
    ['snapshot.a.b', 'snapshot', ['a', 'b']],
    ['metadata.x.y', 'metadata', ['x', 'y']],
    ['env.HOME', 'env', ['HOME']],
    ['env.a.b', 'env', ['a.b']],
    ['principal.user_id', 'principal', ['user_id']],
    ['principal.claims.a.b', 'principal', ['claims', 'a', 'b']],
  ])('%s selects a value', (text, source, path) => {
    expect(parseSelector(text)).toEqual({ ok: true, selector: { text, source, path } });
  });

  it.each([
    ['', 'No selector begins with ""'],
    ['args', 'a name must follow'],
    ['args.', 'a name must follow'],
    ['args..a', 'an empty name between its dots'],
    ['args.a.', 'an empty name between its dots'],
    ['.a', 'No selector begins with ""'],
    ['env', 'a name must follow'],
    ['tool', 'Did you mean tool.name?'],
    ['tool.nam', 'Did you mean tool.name?'],
    ['output', 'Did you mean output.text?'],
    ['environment.x', 'Did you mean environment?'],
    ['principal.name', 'user_id, service_id, org_id, role, ticket_ref or claims.<name>'],
    ['principal.role.x', 'not a field of a principal'],
    ['principals.role', 'Did you mean principal?'],
    ['__proto__.x', 'No selector begins with "__proto__"'],
    ['geo.x', 'No selector begins with "geo"'],
  ])('%s selects none', (text, problem) => {
    const reading = parseSelector(text);
    expect(reading).toEqual({ ok: false, problem: expect.stringContaining(problem) as unknown });
  });

  it('may start with a word that the host registered', () => {
    expect(parseSelector('geo.a.b', new Set(['geo']))).toMatchObject({
      ok: true,
      selector: { source: { hostPrefix: 'geo' }, path: ['a', 'b'] },
    });
    expect(parseSelector('geo.', new Set(['geo']))).toMatchObject({ ok: false });
  });
});
