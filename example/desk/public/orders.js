/** The API whose data is shown. It knows nothing about this page, only the token. */
import { ordersApi } from './configuration.js'

export class ApiError extends Error {
  constructor(status, description) {
    super(description)
    this.status = status
  }
}

export async function readOrders(accessToken, send) {
  const response = await send(`${ordersApi}/orders`, {
    method: 'GET',
    headers: { Authorization: `Bearer ${accessToken}` },
  })
  const body = await response.json()
  if (!response.ok) throw new ApiError(response.status, body.error_description)
  return body
}
