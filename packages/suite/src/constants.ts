/** RFC 8693 §2.1 and §3. */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

const TYPE = 'urn:ietf:params:oauth:token-type'
export const ACCESS_TOKEN = `${TYPE}:access_token`
export const ID_TOKEN = `${TYPE}:id_token`
export const REFRESH_TOKEN = `${TYPE}:refresh_token`
export const SAML2 = `${TYPE}:saml2`

/** A target that no server knows. */
export const UNKNOWN_TARGET = 'https://unknown.token-exchange-suite.example/api'
