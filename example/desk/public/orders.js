/** The API whose data is shown. It knows nothing about this page, only the token. */
import { ordersApi } from './configuration.js'

export class ApiError extends Error {
  constructor(status, description) {
    super(description)
    this.status = status
  }
}

export const readOrders = (accessToken, send) => read('/orders', accessToken, send)

export const readProfile = (accessToken, send) => read('/profile', accessToken, send)

export const readInvoice = (orderId, accessToken, send) =>
  read(`/orders/${encodeURIComponent(orderId)}/invoice`, accessToken, send)

async function read(path, accessToken, send) {
  const response = await send(`${ordersApi}${path}`, {
    method: 'GET',
    headers: { Authorization: `Bearer ${accessToken}` },
  })
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, body.error_description ?? 'the request failed')
  return body
}
