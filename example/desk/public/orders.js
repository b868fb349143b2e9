/** The API whose data is shown. It knows nothing about this page, only the token. */
import { ordersApi } from './configuration.js'
import { bodyOf } from './send.js'

export const readOrders = (accessToken, send) => read('/orders', accessToken, send)

export const readProfile = (accessToken, send) => read('/profile', accessToken, send)

export const readInvoice = (orderId, accessToken, send) =>
  read(`/orders/${encodeURIComponent(orderId)}/invoice`, accessToken, send)

async function read(path, accessToken, send) {
  const headers = { Authorization: `Bearer ${accessToken}` }
  return bodyOf('API', await send(`${ordersApi}${path}`, { method: 'GET', headers }))
}
