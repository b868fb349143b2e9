/** Three mistakes: a secret that cannot be sent, a slash, and a policy that forgot the engineer. */
import { API, deploy } from './deployment.ts'
import { SECRET } from './secret.ts'

export default () =>
  deploy({
    backend: { client_secret: SECRET },
    desk: { token_exchange_resources: [`${API}/`] },
    options: { isAllowed: ({ userId }) => userId === 'alice' },
  })
