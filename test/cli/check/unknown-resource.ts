/** An entry of `token_exchange_resources` that `getResourceServerInfo` does not know: a slash at its end. */
import { API, deploy, either, type Make } from './deployment.ts'
import { remedied } from './sound.ts'

export const mistaken: Make = (place) => deploy({ desk: { token_exchange_resources: [`${API}/`] } }, place)

export default either(mistaken, remedied)
export { remedied }
