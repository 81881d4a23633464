import { describe, expect, test } from 'vitest';
import { createAnnouncements, readMastraAnswer } from './announcements.ts';

describe('announcements', () => {
  test('resume data counts if the model wrote none', () => {
    const announcements = createAnnouncements(() => 0);
    announcements.add('c1', { cents: 5 });
    expect([announcements.take('c1').isOfPerson, announcements.take('c1').isOfPerson]).toEqual([true, false]);
  });

  test('data of a call that was never announced does not count', () => {
    expect(createAnnouncements(() => 0).take('c1')).toEqual({ isOfPerson: false, at: undefined });
  });

  test.each([{ approved: true }, null, undefined, ''])(
    'an argument of %j is data that the model wrote',
    (resumeData) => {
      const announcements = createAnnouncements(() => 0);
      announcements.add('c1', { resumeData });
      expect(announcements.take('c1').isOfPerson).toBe(false);
    },
  );

  test.each([
    ['written first', [true, false]],
    ['written last', [false, true]],
  ])(
    'announcements of two runs that share an id, %s, neither is trusted while it is ambiguous',
    (_, written) => {
      const announcements = createAnnouncements(() => 0);
      for (const one of written) announcements.add('c1', one ? { resumeData: { approved: true } } : {});
      expect([announcements.take('c1').isOfPerson, announcements.take('c1').isOfPerson]).toEqual([
        false,
        false,
      ]);
      announcements.add('c1', {});
      expect(announcements.take('c1').isOfPerson).toBe(true);
    },
  );

  test('announcements of calls that were never made expire, and then are not trusted', () => {
    const announcements = createAnnouncements(() => 0);
    for (let count = 0; count <= 1_000; count++) announcements.add(`c${count}`, {});
    expect([
      announcements.take('c0').isOfPerson,
      announcements.take('c1').isOfPerson,
      announcements.take('c1000').isOfPerson,
    ]).toEqual([false, true, true]);
  });
});

describe('answers', () => {
  test.each([undefined, null, 'yes', true, [], {}, { approved: 'true' }, Object.create({ approved: true })])(
    'rejects %j as an answer',
    (data) => {
      expect(readMastraAnswer(data, undefined)).toBeUndefined();
    },
  );

  test('an answer is for the confirmation it names, or the one the run stopped with', () => {
    const asked = { confirmationId: 'k1' };
    expect(readMastraAnswer({ approved: true }, undefined)?.confirmationId).toBeUndefined();
    expect(readMastraAnswer({ approved: true }, asked)?.confirmationId).toBe('k1');
    expect(readMastraAnswer({ approved: true, confirmationId: 'k2' }, asked)?.confirmationId).toBe('k2');
  });

  test.each([{ confirmationId: 5 }, { confirmationId: {} }])('%j names no confirmation', (named) => {
    expect(readMastraAnswer({ approved: true, ...named }, undefined)?.confirmationId).toBe('');
  });

  test('answers without a confirmation nothing is answered', () => {
    expect(readMastraAnswer({ approved: true }, { confirmationId: null })?.confirmationId).toBe('');
  });

  test('a reason must be text', () => {
    expect(readMastraAnswer({ approved: false, reason: 'Too much.' }, undefined)?.reason).toBe('Too much.');
    expect(readMastraAnswer({ approved: false, reason: 5 }, undefined)?.reason).toBeUndefined();
  });
});
