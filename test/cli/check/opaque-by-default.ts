/** A resource whose access tokens are opaque, because `accessTokenFormat` is not set. */
import { deploy, either, type Make } from './deployment.ts'
import { remedied } from './sound.ts'

export const mistaken: Make = (place) => deploy({ resource: { accessTokenFormat: undefined } }, place)

export default either(mistaken, remedied)
export { remedied }
