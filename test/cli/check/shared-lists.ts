/** Two issuers with one address of status lists: an option was copied. */
import { deploy, either, LOCAL, type Make, type Parts } from './deployment.ts'

/** The second one, beside the first. */
const beside = async (parts: Parts, place: Parameters<Make>[0] = {}) => {
  const { app, sequelize } = await deploy({}, place)
  return deploy(parts, { ...place, app, sequelize, path: '/partners' })
}

export const mistaken: Make = (place) =>
  beside({ options: { statusList: { uri: `${place?.baseUrl ?? LOCAL}/api/status-lists` } } }, place)
export const remedied: Make = (place) => beside({}, place)

export default either(mistaken, remedied)
