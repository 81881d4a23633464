/** A document as a tree with source positions. Data only: every value in it is JSON. */
import type { JsonPrimitive, JsonValue } from '../../base/json.ts';
import { defineMember } from '../../base/json.ts';

export type DocumentNode =
  | { readonly type: 'scalar'; readonly value: JsonPrimitive; readonly offset: number | undefined }
  | { readonly type: 'list'; readonly items: readonly DocumentNode[]; readonly offset: number | undefined }
  | { readonly type: 'map'; readonly entries: readonly DocumentEntry[]; readonly offset: number | undefined };

/** Keys are unique in their map. */
export type DocumentEntry = {
  readonly key: string;
  readonly keyOffset: number | undefined;
  readonly value: DocumentNode;
};

/** The tree of a value that did not come as text and has no positions. */
export function nodeFromJson(value: JsonValue): DocumentNode {
  if (typeof value !== 'object' || value === null) return { type: 'scalar', value, offset: undefined };
  // The guard does not narrow read-only arrays away by itself.
  if (Array.isArray(value))
    return { type: 'list', items: (value as readonly JsonValue[]).map(nodeFromJson), offset: undefined };
  return {
    type: 'map',
    entries: Object.entries(value).map(([key, member]) => ({
      key,
      keyOffset: undefined,
      value: nodeFromJson(member),
    })),
    offset: undefined,
  };
}

export function jsonFromNode(node: DocumentNode): JsonValue {
  switch (node.type) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(jsonFromNode);
    case 'map': {
      const members: { [key: string]: JsonValue } = {};
      for (const { key, value } of node.entries) defineMember(members, key, jsonFromNode(value));
      return members;
    }
  }
}
