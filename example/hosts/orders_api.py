"""An API in Python, with its standard library alone: ORDERS_API_SECRET=… python3 orders_api.py.

Its tokens are opaque and introspected at each request, so a stop takes effect at the next one.
"""

import base64
import json
import os
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server

ISSUER = 'https://id.example.com/oidc'
AUDIENCE = 'https://api.example.com'
CLIENT_ID = 'orders-api'
READS = {'GET', 'HEAD', 'OPTIONS', 'TRACE'}
# What may make another request of this one before a route sees it.
DISGUISES = ('HTTP_UPGRADE', 'HTTP_X_HTTP_METHOD_OVERRIDE', 'HTTP_X_HTTP_METHOD', 'HTTP_X_METHOD_OVERRIDE')


def introspect(token):
    credentials = f'{quote(CLIENT_ID)}:{quote(os.environ["ORDERS_API_SECRET"])}'
    authorization = 'Basic ' + base64.b64encode(credentials.encode()).decode()
    form = urlencode({'token': token}).encode()
    request = Request(f'{ISSUER}/token/introspection', form, {'Authorization': authorization})
    try:
        with urlopen(request, timeout=5) as response:
            return json.load(response)
    except HTTPError as error:
        if error.code != 400:
            raise
        return {}  # a JWT, for example, which is not for this API


def respond(environ):
    scheme, _, token = environ.get('HTTP_AUTHORIZATION', '').partition(' ')
    claims = introspect(token) if scheme.lower() == 'bearer' else {}
    # A token with cnf is bound to a key, which this API does not check.
    if not claims.get('active') or claims.get('aud') != AUDIENCE or 'cnf' in claims:
        return '401 Unauthorized', {'error': 'invalid_token'}
    writes = environ['REQUEST_METHOD'] not in READS or any(name in environ for name in DISGUISES)
    if writes and claims.get('read_only', False) is not False:
        return '403 Forbidden', {'error': 'insufficient_scope'}
    # Here the API decides by the scopes, and shows the user's data.
    return '200 OK', {'user': claims['sub'], 'actor': claims.get('act', {}).get('sub')}


def api(environ, start_response):
    try:
        status, body = respond(environ)
    except OSError:  # the provider does not respond
        status, body = '503 Service Unavailable', {'error': 'temporarily_unavailable'}
    challenge = [('WWW-Authenticate', f'Bearer error="{body["error"]}"')] if status.startswith('4') else []
    start_response(status, [('Content-Type', 'application/json'), *challenge])
    return [json.dumps(body).encode()]


if __name__ == '__main__':
    make_server('127.0.0.1', 3000, api).serve_forever()
