/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { describe, expect, it } from 'vitest';
import { preRule, problemsOf, rulesetOf, sandboxRule } from '../../../../../test/sample-ruleset.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { compileJsonSchema } from '../../tool/schema.ts';
import { createDocumentSchema } from './document-schema.ts';

const check = compileJsonSchema(createDocumentSchema());
const withThen = (then: JsonObject): JsonValue =>
  rulesetOf([{ ...preRule, then: { action: 'ask', message: 'Sure?', timeout: 3_600, ...then } }]);
const withApproval = (approval: JsonValue): JsonValue => withThen({ approval });
const textOf = (document: JsonValue): string => problemsOf(document).join(' ');

describe('approval', () => {
  it.each<[string, JsonValue]>([
    ['nothing', {}],
    ['a quorum', { quorum: 2 }],
    ['groups, roles and people', { groups: ['a'], roles: ['b'], people: ['c', 'd'], quorum: 3 }],
    [
      'several groups',
      { all_of: [{ groups: ['a'] }, { roles: ['b'], quorum: 2 }], same_person: true, denials: 2 },
    ],
    [
      'times and exclusions',
      {
        groups: ['a'],
        exclude: ['asker', 'session_owner'],
        escalate: [{ after: 60, roles: ['b'] }],
        reminders: [60, 30],
        delegation: 'chain',
      },
    ],
  ])('loads with %s, and fits the schema', (_, approval) => {
    const document = withApproval(approval);
    expect(textOf(document)).toBe('');
    expect(check(document)).toEqual([]);
  });

  it.each<[string, JsonValue, RegExp]>([
    ['an unknown key', { group: ['a'] }, /Unknown field "group".*groups/s],
    ['no number of people', { quorum: 0 }, /quorum is the number 0|quorum is 0|quorum/],
    ['an empty group list', { groups: [] }, /groups/],
    ['an unknown exclusion', { exclude: ['manager'] }, /asker or session_owner/],
    ['an unknown delegation', { delegation: 'always' }, /delegation/],
    ['both spellings', { groups: ['a'], all_of: [{ groups: ['b'] }] }, /groups and all_of are both given/],
    ['too few people', { people: ['a', 'a'], quorum: 2 }, /could never run/],
    ['one person in two places', { all_of: [{ people: ['a'] }, { people: ['a'] }] }, /more different people/],
    ['a reminder after the expiry', { reminders: [3_600] }, /expires after 3600 s/],
    [
      'an escalation after the expiry',
      { groups: ['a'], escalate: [{ after: 9_999, roles: ['b'] }] },
      /expires/,
    ],
    ['an escalation to anyone', { groups: ['a'], escalate: [{ after: 1 }] }, /roles, groups and people/],
    ['an escalation without a group before it', { escalate: [{ after: 1, roles: ['b'] }] }, /everyone may/],
    ['a list', ['a'], /approval/],
  ])('is refused with %s', (_, approval, problem) => {
    expect(textOf(withApproval(approval))).toMatch(problem);
  });

  it('is refused together with timeout_effect: allow, in any spelling', () => {
    for (const key of ['timeout_effect', 'timeout_action'])
      expect(textOf(withThen({ [key]: 'allow', approval: { quorum: 2 } }))).toContain(
        'timeout_effect: allow',
      );
    const sandbox = rulesetOf([
      { ...sandboxRule, outside: 'ask', timeout_effect: 'allow', approval: { roles: ['a'] } },
    ]);
    expect(textOf(sandbox)).toContain('timeout_effect: allow');
  });

  it('is refused on a rule that blocks, and allowed on a sandbox rule that asks', () => {
    expect(textOf(withThen({ action: 'block', approval: {} }))).toContain('this one blocks');
    expect(textOf(rulesetOf([{ ...sandboxRule, approval: {} }]))).toContain('this one blocks');
    expect(textOf(rulesetOf([{ ...sandboxRule, outside: 'ask', approval: { quorum: 2 } }]))).toBe('');
  });
});
