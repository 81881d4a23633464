/** The order book and the mail of the shop. Replace it with your own services. */
export type Order = {
  readonly id: string;
  readonly customer: string;
  readonly cents: number;
  refunded: number;
};

export const orders = new Map<string, Order>(
  [
    { id: 'A-1', customer: 'ada@example.com', cents: 2_400, refunded: 0 },
    { id: 'B-2', customer: 'bob@example.com', cents: 18_900, refunded: 0 },
  ].map((order) => [order.id, order]),
);
export const mails: { readonly to: string; readonly text: string }[] = [];

export function findOrder(id: string): Order {
  const order = orders.get(id);
  if (order === undefined) throw new Error(`There is no order ${id}.`);
  return order;
}
