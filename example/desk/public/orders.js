/** The API that is looked at. It knows nothing of this page, only the token. */
import { ordersApi } from './configuration.js'

export class ApiError extends Error {}

export async function readOrders(accessToken, send) {
  const response = await send(`${ordersApi}/orders`, {
    method: 'GET',
    headers: { Authorization: `Bearer ${accessToken}` },
  })
  const answer = await response.json()
  if (!response.ok) throw new ApiError(answer.error_description)
  return answer
}
