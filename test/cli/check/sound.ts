/** A deployment without a mistake. */
import { deploy, type Make } from './deployment.ts'

export const remedied: Make = (place) => deploy({}, place)

export default () => remedied()
