import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import type { Grant } from './grant.ts';
import { grantsIn, isPast, withGrant, withoutGrant } from './grant.ts';

const grant = (grantId: string, changes: Partial<Grant> = {}): Grant => ({
  grantId,
  sessionId: 's',
  toolName: 'pay',
  where: undefined,
  until: undefined,
  uses: undefined,
  by: 'ada',
  identity: { kind: 'os_user', user: 'ada' },
  reason: undefined,
  givenAt: 1,
  revoked: undefined,
  approved: undefined,
  ...changes,
});
const bob = { by: 'bob', identity: { kind: 'self_asserted' }, at: 2, reason: undefined } as const;
const ids = (state: JsonObject): string[] => grantsIn(state, 's').map(({ grantId }) => grantId);

describe('the state of grants', () => {
  it('contains every grant as given, in order, through JSON and back', () => {
    const text = fc.string({ unit: 'binary' });
    const any = fc.record({
      toolName: text,
      where: fc.option(fc.constant({ 'args.a': { equals: 1 } }), { nil: undefined }),
      until: fc.option(fc.maxSafeNat(), { nil: undefined }),
      uses: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
      by: text,
      reason: fc.option(text, { nil: undefined }),
      givenAt: fc.maxSafeNat(),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 5 }), (given) => {
        const grants = given.map((changes, n) => grant(`g${n}`, changes));
        const state = grants.reduce<JsonObject>((before, each) => withGrant(before, each, 0), {});
        expect(grantsIn(JSON.parse(JSON.stringify(state)) as JsonObject, 's')).toEqual(grants);
      }),
    );
  });

  it('never changes its spelling', () => {
    const given = grant('g', { where: { 'args.a': { lt: 1 } }, until: 9, uses: 2, reason: 'why' });
    expect(withoutGrant(withGrant({}, given, 0), 'g', { ...bob, reason: 'no' })).toEqual({
      grants: [
        {
          grant_id: 'g',
          tool_name: 'pay',
          where: { 'args.a': { lt: 1 } },
          until: 9,
          uses: 2,
          by: 'ada',
          identity: { kind: 'os_user', user: 'ada' },
          reason: 'why',
          given_at: 1,
          revoked: { by: 'bob', identity: { kind: 'self_asserted' }, at: 2, reason: 'no' },
        },
      ],
    });
  });

  it('keeps the first revocation', () => {
    const once = withoutGrant(withGrant({}, grant('g'), 0), 'g', bob);
    expect(withoutGrant(once, 'g', { ...bob, by: 'eve' })).toBe(once);
    expect(grantsIn(once, 's')[0]?.revoked).toEqual(bob);
    expect(withoutGrant(once, 'other', bob)).toBe(once);
  });

  it('keeps a grant that it cannot read completely, and that grant permits nothing', () => {
    const newer = { grant_id: 'n', tool_name: '*', by: 'ada', given_at: 1, only_on: 'sundays' };
    const strange: JsonObject = { more: 1, grants: [newer, 7, null, { grant_id: 'x' }] };
    expect(ids(strange)).toEqual([]);
    const state = withGrant(strange, grant('g'), 0);
    expect(ids(state)).toEqual(['g']);
    expect(state).toMatchObject({ more: 1, grants: [newer, 7, null, { grant_id: 'x' }, { grant_id: 'g' }] });
    const [revoked] = withoutGrant(state, 'n', bob)['grants'] as JsonObject[];
    expect(revoked).toEqual({ ...newer, revoked: { by: 'bob', identity: { kind: 'self_asserted' }, at: 2 } });
  });

  it.each<[string, JsonObject]>([
    ['a limit that is not a number', { uses: '3' }],
    ['an end that is not a number', { until: null }],
    ['a condition that is not an object', { where: 'x' }],
    ['nobody', { by: 5 }],
  ])('a grant with %s permits nothing', (_, wrong) => {
    expect(ids({ grants: [{ grant_id: 'g', tool_name: '*', by: 'a', given_at: 1, ...wrong }] })).toEqual([]);
  });

  it.each([null, true, 0, 'yes', [], {}])('takes %j for a revocation', (revoked) => {
    const state = { grants: [{ grant_id: 'g', tool_name: '*', by: 'a', given_at: 1, revoked }] };
    expect(grantsIn(state, 's')[0]?.revoked).toBeDefined();
  });

  it('has own properties only', () => {
    const inherited = JSON.parse('{"__proto__": {"grants": []}, "constructor": 1}') as JsonObject;
    expect(ids(inherited)).toEqual([]);
    expect(ids({ grants: [JSON.parse('{"__proto__": {"grant_id": "g"}}') as JsonObject] })).toEqual([]);
  });

  it('drops the oldest ended grants when it is full, and never an active one', () => {
    let state: JsonObject = withGrant({}, grant('lives'), 0);
    for (let n = 0; n < 150; n++) {
      state = withGrant(state, grant(`g${n}`), 0);
      state = withoutGrant(state, `g${n}`, bob);
    }
    state = withGrant(state, grant('last'), 0);
    expect(ids(state)).toHaveLength(102);
    expect(ids(state)).toEqual(expect.arrayContaining(['lives', 'g149', 'last']));
    expect(ids(state)).not.toContain('g49');
  });
});

it('a grant has ended from its end time on', () => {
  expect([4, 5, 6].map((now) => isPast({ until: 5 }, now))).toEqual([false, true, true]);
  expect(isPast({ until: undefined }, Number.MAX_SAFE_INTEGER)).toBe(false);
});
