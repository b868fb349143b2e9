/** The API whose data is shown. It knows nothing about this page, only the token. */
import { ordersApi } from './configuration.js'

export class ApiError extends Error {}

export async function readOrders(accessToken, send) {
  const response = await send(`${ordersApi}/orders`, {
    method: 'GET',
    headers: { Authorization: `Bearer ${accessToken}` },
  })
  const body = await response.json()
  if (!response.ok) throw new ApiError(body.error_description)
  return body
}
