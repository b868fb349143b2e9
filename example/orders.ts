/** What the shop knows of its customers. Yours is in a database. */
import { emailOf, findPerson } from './accounts.ts'

export interface Order {
  readonly id: string
  readonly item: string
  /** ISO 8601. */
  readonly placed: string
  readonly state: 'Delivered' | 'On its way' | 'Being packed'
  readonly cents: number
}

export type PlacedOrder = Order & { readonly customer: string }

const ORDERS: readonly PlacedOrder[] = [
  { id: '1001', customer: 'alice', item: 'A teapot', placed: '2026-10-28', state: 'On its way', cents: 3490 },
  { id: '1002', customer: 'alice', item: 'Six cups', placed: '2026-10-12', state: 'Delivered', cents: 4200 },
  { id: '1003', customer: 'bob', item: 'A lamp', placed: '2026-11-02', state: 'Being packed', cents: 8950 },
  { id: '1004', customer: 'carol', item: 'A rug', placed: '2026-09-30', state: 'Delivered', cents: 21900 },
]

const ADDRESSES: Readonly<Record<string, string>> = {
  alice: '4 Mill Lane, Ashford',
  bob: '17 Harbour Street, Bray',
  carol: '2 Castle Road, Conwy',
}

export function ordersOf(customer: string): readonly Order[] {
  return ORDERS.filter((order) => order.customer === customer).map(({ customer: _, ...order }) => order)
}

/** An order of what the shop sells. */
export const teapotFor = (customer: string, number: number): PlacedOrder => ({
  ...{ customer, id: String(number), item: 'A new teapot', state: 'Being packed', cents: 3490 },
  placed: new Date().toISOString().slice(0, 10),
})

export function profileOf(customer: string): object {
  const person = findPerson(customer)
  return {
    customer,
    ...(person && { name: person.name, email: emailOf(person), plan: person.plan }),
    address: ADDRESSES[customer] ?? 'No address yet',
  }
}

/** The invoice of one of the customer's own orders. */
export function invoiceOf(customer: string, orderId: string): object | undefined {
  const order = ordersOf(customer).find(({ id }) => id === orderId)
  if (!order) return undefined
  const { item, placed, cents } = order
  const delivery = { item: 'Delivery', cents: 490 }
  return {
    number: `R-${placed.slice(0, 4)}-${orderId}`,
    placed,
    to: ADDRESSES[customer],
    lines: [{ item, cents }, delivery],
    cents: cents + delivery.cents,
  }
}
