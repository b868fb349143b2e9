/** A client secret that `Authorization: Basic` cannot carry unencoded: a plus sign becomes a space. */
import { deploy, either, type Make } from './deployment.ts'
import { remedied } from './sound.ts'

export const SECRET = 'q3+Zk1/9fX+R0w=='
export const mistaken: Make = (place) => deploy({ backend: { client_secret: SECRET } }, place)

export default either(mistaken, remedied)
export { remedied }
