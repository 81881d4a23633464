import { expect, test } from 'vitest';
import { policyOf, sampleCall, sampleWorld } from '../../../../../test/sample-policy.ts';

const sandbox = (id: string) => ({ id, type: 'sandbox', tool: '*', within: ['/srv/a'], message: 'no' });

test('a real path is looked up once for all rules of a call, and again for the next call', () => {
  const asked: string[] = [];
  let leadsOut = false;
  const world = sampleWorld({
    realPath: (path) => {
      asked.push(path);
      return leadsOut && path === '/srv/a/link' ? '/etc' : path;
    },
  });
  const policy = policyOf([sandbox('one'), sandbox('two'), sandbox('three')], world);
  const call = sampleCall({ path: '/srv/a/link' });
  expect(policy.judgeCall(call)).toMatchObject({ decision: 'allow' });
  expect(asked.toSorted()).toEqual(['/srv/a', '/srv/a/link']);
  leadsOut = true;
  expect(policy.judgeCall(call)).toMatchObject({ decision: 'block' });
});

test('after a failed lookup no rule treats the path as inside', () => {
  const world = sampleWorld({
    realPath: () => {
      throw new Error('no such device');
    },
  });
  const policy = policyOf([sandbox('one'), sandbox('two')], world);
  expect(policy.judgeCall(sampleCall({ path: '/srv/a/x' }))).toMatchObject({
    decision: 'block',
    fired: [{ ruleId: 'one' }, { ruleId: 'two' }],
  });
});
