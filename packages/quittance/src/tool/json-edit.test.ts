import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import { editJson, valueAt } from './json-edit.ts';

describe('editJson', () => {
  test('replaces and removes in a copy, and shares the rest', () => {
    const root = freezeJson({ a: { b: [1, 2] }, c: { d: 1 }, e: null });
    const edited = editJson(root, [
      { path: ['a', 'b', 1], value: 'two' },
      { path: ['e'], value: undefined },
    ]);
    expect(edited).toEqual({ a: { b: [1, 'two'] }, c: { d: 1 } });
    expect(root).toEqual({ a: { b: [1, 2] }, c: { d: 1 }, e: null });
    expect(edited['c']).toBe(root.c);
  });

  test('lets a later edit see an earlier one', () => {
    const edited = editJson({ a: 'x' }, [
      { path: ['a'], value: { b: 1 } },
      { path: ['a', 'b'], value: 2 },
    ]);
    expect(edited).toEqual({ a: { b: 2 } });
  });

  test('does not modify the inserted values', () => {
    const value = freezeJson({ b: 1 });
    editJson({ a: 'x' }, [
      { path: ['a'], value },
      { path: ['a', 'b'], value: 2 },
    ]);
    expect(value).toEqual({ b: 1 });
  });

  test('ignores edits of missing paths', () => {
    const root: JsonObject = { a: 1, list: [] };
    for (const path of [
      ['b'],
      ['a', 'b'],
      ['a', 'toString'],
      ['list', 0],
      ['constructor'],
      ['__proto__', 'x'],
      [],
    ]) {
      expect(editJson(root, [{ path, value: 'new' }])).toEqual(root);
    }
  });

  test('keeps the order of keys, and __proto__ as data', () => {
    const root: JsonObject = JSON.parse('{"z":1,"__proto__":{"a":1},"b":2}');
    const edited = editJson(root, [
      { path: ['__proto__', 'a'], value: 5 },
      { path: ['z'], value: 9 },
    ]);
    expect(JSON.stringify(edited)).toBe('{"z":9,"__proto__":{"a":5},"b":2}');
    expect(JSON.stringify(editJson(root, [{ path: ['__proto__'], value: undefined }]))).toBe('{"z":1,"b":2}');
    expect(Object.getPrototypeOf(edited)).toBe(Object.prototype);
  });
});

test('valueAt reads own properties only', () => {
  expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).toBe(1);
  expect(valueAt({ a: 1 }, [])).toEqual({ a: 1 });
  for (const path of [['constructor'], ['__proto__'], ['a', 'length'], ['a', 'b', 'c'], [0]]) {
    expect(valueAt({ a: 'text' }, path)).toBeUndefined();
  }
});
