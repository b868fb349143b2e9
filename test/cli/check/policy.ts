/** A policy that forgot the engineer: it decides about the user, and everyone may act. */
import { deploy, either, type Make } from './deployment.ts'
import { remedied } from './sound.ts'

export const mistaken: Make = (place) =>
  deploy({ options: { isAllowed: ({ userId }) => userId === 'alice' } }, place)

export default either(mistaken, remedied)
export { remedied }
