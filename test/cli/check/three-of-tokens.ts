/** Three mistakes: tokens that are opaque, tokens that cannot act, and lists at the address of another issuer. */
import { API, deploy, LOCAL } from './deployment.ts'

export default async function deployment() {
  const { app, sequelize } = await deploy({})
  return deploy(
    {
      options: { statusList: { uri: `${LOCAL}/api/status-lists` } },
      resource: { accessTokenFormat: undefined },
      indicators: { enabled: true, defaultResource: () => API, useGrantedResource: () => true },
    },
    { app, sequelize, path: '/partners' },
  )
}
